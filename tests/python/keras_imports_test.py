from imports import import_in_every_order


def test_tensorflow_and_onnx():
    import_in_every_order("onward", "tensorflow", "onnx")
