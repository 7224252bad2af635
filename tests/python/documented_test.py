from documented import run_section


def test_training_is_as_documented(tmp_path, monkeypatch):
    variables = run_section("Training", tmp_path, monkeypatch)
    assert variables["trainer"].steps > 20 and (tmp_path / "line.onnx").exists()
