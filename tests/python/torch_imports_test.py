from imports import import_in_every_order


def test_torch_and_onnx():
    import_in_every_order("onward", "torch", "onnx")
