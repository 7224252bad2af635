from documented import run_section


def test_the_other_commands_are_as_documented(tmp_path, monkeypatch):
    variables = run_section("What the other commands do", tmp_path, monkeypatch)
    assert variables["found"].examples == 5 and (tmp_path / "line-torch/model.py").exists()


def test_training_is_as_documented(tmp_path, monkeypatch):
    variables = run_section("Training", tmp_path, monkeypatch)
    assert variables["trainer"].steps > 20 and (tmp_path / "line.onnx").exists()
