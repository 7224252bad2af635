from documented import run_section


def test_keras_is_as_documented(tmp_path, monkeypatch):
    variables = run_section("From Keras", tmp_path, monkeypatch)
    assert variables["trainer"].steps == 1
