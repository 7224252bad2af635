"""What is inside of program, library and module, and has a licence of its own."""

import re

PARTS = ["ONNX", "oneDNN", "nanobind", "protobuf", "RE2", "BLIS", "{fmt}", "JSON for Modern C++", "CLI11", "libjpeg-turbo", "libpng", "libwebp", "zlib",
         "libgomp"]


def require_all_parts(notices):
    for part in PARTS:
        [text] = re.findall(rf"^={{100}}\n{re.escape(part)}(?!\w)[^\n]*(?<!own parts)\n={{100}}\n(.*?)(?=^={{100}}$|\Z)",
                            notices, re.MULTILINE | re.DOTALL)
        assert re.search(r"[Cc]opyright|LICENSE|License", text), part
