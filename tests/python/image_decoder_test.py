"""ImageDecoder against Pillow, of which the standard's own tests are made: whatever a file holds, the result is that of
Pillow's convert("RGB") and convert("L"). What is not read is refused, and said."""

import io
import struct
import zlib

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

import onward
import onward.backend

KINDS = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}


def decoder(**attributes):
    given = helper.make_tensor_value_info("file", TensorProto.UINT8, [None])
    made = helper.make_tensor_value_info("image", TensorProto.UINT8, [None, None, None])
    graph = helper.make_graph([helper.make_node("ImageDecoder", ["file"], ["image"], **attributes)], "g", [given], [made])
    return onward.backend.prepare(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9))


DECODERS = {pixel_format: decoder(pixel_format=pixel_format) for pixel_format in KINDS}


def decoded(data, pixel_format="RGB"):
    [image] = DECODERS[pixel_format].run([np.frombuffer(data, np.uint8)])
    return image


def picture(mode="RGB", width=37, height=23):
    """Smooth colors with some noise, so that every way to compress them has something to do."""
    random = np.random.default_rng(width * height)
    y, x = np.mgrid[0:height, 0:width]
    channels = [(x * 6 + y * 2) % 256, (y * 11) % 256, (255 - x * 3 - y) % 256, (x * y) % 256]
    noisy = np.stack(channels, -1) + random.integers(0, 24, (height, width, 4))
    return Image.fromarray(noisy.clip(0, 255).astype(np.uint8), "RGBA").convert(mode)


def saved(image, format, **options):
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, depth, color, rows, *chunks, interlaced=False):
    """Rows of packed bytes; for Adam7, those of the seven smaller images one after the other."""
    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, int(interlaced))
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + b"".join(chunks) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def interlaced_png():
    pixels = np.asarray(picture(width=13, height=11))
    starts = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    rows = [row.tobytes() for y, x, down, right in starts for row in pixels[y::down, x::right]]
    return png(13, 11, 8, 2, rows, interlaced=True)


def deep_png(color, channels):
    random = np.random.default_rng(color)
    return png(7, 5, 16, color, random.integers(0, 256, (5, 7 * channels * 2), dtype=np.uint8))


def bmp(bits, compression, rows, palette=b"", header=40, masks=b"", width=8, height=2, used=0):
    offset = 14 + header + len(palette) + (len(masks) if header == 40 else 0)
    info = struct.pack("<IiiHHIIiiII", header, width, height, 1, bits, compression, len(rows), 0, 0, used, 0)
    info += (masks if header > 40 else b"").ljust(header - 40, b"\0") + (masks if header == 40 else b"")
    return b"BM" + struct.pack("<IHHI", offset + len(rows), 0, 0, offset) + info + palette + rows


PALETTE = bytes(range(0, 64 * 4))[:64]
BYTES = np.random.default_rng(3).integers(0, 256, 256, dtype=np.uint8).tobytes()
COLORS = picture()
SAME = {
    **{f"{format} of {mode}": saved(picture(mode), format)
       for format, modes in {"BMP": "1 L P RGB RGBA", "PNG": "1 L LA P RGB RGBA", "TIFF": "1 L P RGB RGBA", "JPEG": "L RGB",
                             "WEBP": "RGB RGBA", "PPM": "1 L RGB", "JPEG2000": "L LA RGB RGBA"}.items()
       for mode in modes.split()},
    **{f"JPEG subsampled by {n}": saved(COLORS, "JPEG", subsampling=n, quality=60) for n in (0, 1, 2)},
    **{f"JPEG of {width} x {height}": saved(picture(width=width, height=height), "JPEG")
       for width, height in ((1, 1), (2, 1), (3, 5), (16, 16), (17, 33))},
    "JPEG, progressive": saved(COLORS, "JPEG", progressive=True),
    "JPEG, optimized": saved(COLORS, "JPEG", optimize=True, quality=95),
    "JPEG of inks": saved(COLORS.convert("CMYK"), "JPEG"),
    "JPEG of red, green and blue": saved(COLORS, "JPEG", keep_rgb=True),
    "JPEG with restarts": saved(COLORS, "JPEG", restart_marker_blocks=2),
    "JPEG that is turned": saved(COLORS, "JPEG", exif=b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0"),
    "PNG, interlaced": interlaced_png(),
    **{f"PNG of {bits} bits": saved(picture("L").quantize(2 ** bits), "PNG", bits=bits) for bits in (1, 2, 4)},
    **{f"PNG of {bits} bits of gray": png(11, 3, bits, 0, [BYTES[i:i + (11 * bits + 7) // 8] for i in range(3)]) for bits in (1, 2, 4)},
    "PNG of 16 bits": deep_png(2, 3),
    "PNG of 16 bits with transparency": deep_png(6, 4),
    "PNG with a transparent gray": saved(picture("L"), "PNG", transparency=7),
    "PNG with a transparent color": saved(COLORS, "PNG", transparency=(1, 2, 3)),
    "PNG with transparent colors of a palette": saved(COLORS.quantize(16), "PNG", transparency=bytes(range(16))),
    "PNG with a gamma": png(8, 2, 8, 0, [BYTES[:8], BYTES[8:16]], chunk(b"gAMA", struct.pack(">I", 100000))),
    "WebP without loss": saved(COLORS, "WEBP", lossless=True),
    "WebP without loss, transparent": saved(picture("RGBA"), "WEBP", lossless=True, exact=True),
    "WebP, coarse": saved(COLORS, "WEBP", quality=5),
    **{f"TIFF by {name}": saved(COLORS, "TIFF", compression=name)
       for name in ("packbits", "tiff_lzw", "tiff_adobe_deflate", "jpeg", "lzma", "zstd")},
    "TIFF of bits by group4": saved(picture("1"), "TIFF", compression="group4"),
    "TIFF of tiles": saved(picture(width=64, height=48), "TIFF", tiled=True, tile=(16, 16)),
    "JPEG 2000, lossy": saved(COLORS, "JPEG2000", irreversible=True, quality_mode="rates", quality_layers=[8]),
    "JPEG 2000 codestream": saved(COLORS, "JPEG2000", no_jp2=True),
    "JPEG 2000 of tiles": saved(COLORS, "JPEG2000", tile_size=(16, 16)),
    "PNM as digits": b"P3 # a comment\n2 # 3\n2\n255 1 2 3 4 5 6\n7 8 9 250 251 255\n",
    "PNM of gray as digits": b"P2\n3 1\n7\n0 3 7",
    "PNM of bits as digits": b"P1\n5 2\n10101\n0 1 1 1 0",
    "PNM of a few shades": b"P5 6 1 6\n\0\1\2\3\4\6",
    "PNM of 16 bits": b"P6 2 1 1000\n" + struct.pack(">6H", 0, 1, 2, 500, 999, 1000),
    "BMP of 16 bits": bmp(16, 0, BYTES[:32]),
    "BMP of 16 bits under masks": bmp(16, 3, BYTES[:32], masks=struct.pack("<III", 0xF800, 0x07E0, 0x001F)),
    "BMP of 32 bits under masks": bmp(32, 3, BYTES[:64], header=108, masks=struct.pack("<IIII", 0xFF, 0xFF00, 0xFF0000, 0xFF000000)),
    "BMP from the top": bmp(24, 0, BYTES[:48], height=-2),
    "BMP of 4 bits": bmp(4, 0, BYTES[:8], PALETTE),
    "BMP of runs": bmp(8, 1, bytes([8, 3, 0, 0, 3, 1, 0, 5, 9, 8, 7, 6, 5, 0, 0, 1]), PALETTE, used=16),
    "BMP of runs of 4 bits": bmp(4, 2, bytes([8, 0x3A, 0, 0, 3, 0x1F, 0, 5, 0x98, 0x76, 0x50, 0, 0, 1]), PALETTE),
    "BMP of OS/2": b"BM" + struct.pack("<IHHI", 0, 0, 0, 32) + struct.pack("<IHHHH", 12, 9, 2, 1, 1) + BYTES[:6] + BYTES[6:14],
}


@pytest.mark.filterwarnings("ignore:Palette images with Transparency")
@pytest.mark.parametrize("name", SAME)
def test_it_gives_what_pillow_does(name):
    for pixel_format, mode in KINDS.items():
        expected = np.array(Image.open(io.BytesIO(SAME[name])).convert(mode))
        expected = expected.reshape(*expected.shape[:2], -1)[:, :, ::-1 if pixel_format == "BGR" else 1]
        image = decoded(SAME[name], pixel_format)
        assert image.dtype == np.uint8 and image.shape == expected.shape
        np.testing.assert_array_equal(image, expected)


def test_pixels_are_red_green_and_blue_where_nothing_is_said():
    [image] = decoder().run([np.frombuffer(SAME["PNG of RGB"], np.uint8)])
    np.testing.assert_array_equal(image, np.asarray(COLORS))


def test_of_several_images_it_is_the_first():
    later = [COLORS.rotate(180)]
    for format in ("TIFF", "PNG"):
        np.testing.assert_array_equal(decoded(saved(COLORS, format, save_all=True, append_images=later)), np.asarray(COLORS))
    first = saved(COLORS, "PPM")
    np.testing.assert_array_equal(decoded(first + saved(later[0], "PPM")), np.asarray(COLORS))


def test_files_of_the_standards_own_tests():
    """They are kept with ONNX, for those who have no Pillow; those that it makes with Pillow are in backend_test.py."""
    from onnx.backend.test.case.node import _image_decoder_data as kept

    names = [name for name in dir(kept) if name.startswith("image_decoder_decode")]
    assert len(names) == 9
    for name in names:
        pixel_format = {"rgb": "RGB", "bgr": "BGR", "grayscale": "Grayscale"}[name.split("_")[-1]]
        case = getattr(kept, name)
        np.testing.assert_array_equal(decoded(case.data.tobytes(), pixel_format), case.output, name)


BYTES_OF_16_BITS = {
    "PNG": lambda gray: gray >> 8,
    "JPEG2000": lambda gray: np.minimum((gray + 128) >> 8, 255),
    "PPM": lambda gray: np.rint(gray / 65535 * 255),
}


@pytest.mark.parametrize("format", BYTES_OF_16_BITS)
def test_gray_of_16_bits_is_scaled(format):
    """Pillow clips it to 255."""
    gray = np.random.default_rng(1).integers(0, 65536, (40, 50))
    gray[0, :3] = 0, 255, 65535
    image = decoded(saved(Image.fromarray(gray.astype(np.uint16)), format), "Grayscale")[:, :, 0]
    np.testing.assert_array_equal(image, BYTES_OF_16_BITS[format](gray))


REFUSED = {
    "no image": (b"GIF89a" + bytes(40), "46 bytes are no image: they are not in one of the formats BMP, JPEG"),
    "nothing": (b"", "0 bytes are no image"),
    "half a JPEG": (SAME["JPEG of RGB"][:700], "cannot read this JPEG image: Premature end of JPEG file"),
    "a JPEG without its end mark": (SAME["JPEG of RGB"][:-2], "JPEG image: Premature end of JPEG file"),
    "half a PNG": (SAME["PNG of RGB"][:700], "cannot read this PNG image: it ends too early"),
    "half a WebP": (SAME["WEBP of RGB"][:300], "cannot read this WebP image: it ends too early"),
    "half a BMP": (SAME["BMP of RGB"][:700], "cannot read this BMP image: it ends too early"),
    "half a TIFF": (SAME["TIFF of RGB"][:900], "cannot read this TIFF image: "),
    "half a JPEG 2000": (SAME["JPEG2000 of RGB"][:900], "cannot read this JPEG 2000 image: "),
    "a TIFF of inks": (saved(COLORS.convert("CMYK"), "TIFF"), r"in no form that is read \(photometric 5\)"),
    "a TIFF of floats": (saved(Image.fromarray(np.ones((4, 5), np.float32)), "TIFF"), "samples of 32 bits; up to 8 are read"),
    "a TIFF of 16 bits": (saved(Image.fromarray(np.ones((4, 5), np.uint16)), "TIFF"), "samples of 16 bits; up to 8 are read"),
    "a JPEG 2000 of luma": (saved(COLORS.convert("YCbCr"), "JPEG2000"), "of a kind that is not read: save it as RGB"),
    "an animated WebP": (saved(COLORS, "WEBP", save_all=True, append_images=[COLORS.rotate(180)]), "it is animated"),
    "a BMP of 2 bits": (bmp(2, 0, BYTES[:8]), "2 bits a pixel with compression 0 are not read"),
    "a BMP with a JPEG inside": (bmp(24, 4, BYTES[:48]), "24 bits a pixel with compression 4 are not read"),
    "a BMP with a mask of two parts": (bmp(16, 3, BYTES[:32], masks=struct.pack("<III", 0xF00F, 1, 2)), "0x0000f00f is no mask"),
    "a BMP with too few colors": (bmp(8, 0, BYTES[:16], PALETTE, used=16), "a pixel has color [0-9]+ of 16"),
    "runs beyond a row": (bmp(8, 1, bytes([9, 3, 0, 1]), PALETTE, used=16), "a run goes beyond its row"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_it_cannot_read_it_refuses(name):
    data, said = REFUSED[name]
    with pytest.raises(onward.Error, match=said):
        decoded(data)


def test_other_words_and_other_shapes_are_refused():
    with pytest.raises(onward.Error, match="attribute 'pixel_format' is 'RGBA', but must be one of RGB, BGR, Grayscale"):
        decoder(pixel_format="RGBA").run([np.frombuffer(SAME["PNG of RGB"], np.uint8)])
    given = helper.make_tensor_value_info("file", TensorProto.UINT8, None)
    made = helper.make_tensor_value_info("image", TensorProto.UINT8, None)
    graph = helper.make_graph([helper.make_node("ImageDecoder", ["file"], ["image"])], "g", [given], [made])
    model = onward.backend.prepare(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9))
    with pytest.raises(onward.Error, match="it has rank 2, not 1"):
        model.run([np.zeros((2, 3), np.uint8)])


def trained_on_files(tmp_path):
    """The mean color of an image, times weights."""
    node = helper.make_node
    nodes = [node("ImageDecoder", ["file"], ["pixels"]), node("Cast", ["pixels"], ["x"], to=TensorProto.FLOAT),
             node("ReduceMean", ["x", "axes"], ["mean"], keepdims=0), node("Unsqueeze", ["mean", "zero"], ["row"]),
             node("MatMul", ["row", "w"], ["y"])]
    constants = {"axes": np.array([0, 1]), "zero": np.array([0]), "w": np.eye(3, 2, dtype=np.float32)}
    given = helper.make_tensor_value_info("file", TensorProto.UINT8, ["N"])
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])
    initializers = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "g", [given], [made], initializers)
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), path)
    return onward.prepare(onward.load(str(path)), loss="mse", optimizer="sgd", lr=0.0001)


def test_networks_train_on_files_of_any_size(tmp_path):
    trainer = onward.Trainer(trained_on_files(tmp_path))
    weights = np.eye(3, 2, dtype=np.float32)
    for name in ("PNG of RGB", "JPEG of 17 x 33", "PNM as digits"):
        mean = np.array(Image.open(io.BytesIO(SAME[name])).convert("RGB"), np.float32).mean((0, 1))[None]
        y = mean @ weights
        loss = trainer.step({"file": np.frombuffer(SAME[name], np.uint8), "label": np.zeros((1, 2), np.float32)})["loss"]
        np.testing.assert_allclose(loss, (y * y).mean(), rtol=1e-5)
        weights -= 0.0001 * mean.T @ y


def test_older_opsets_are_refused_by_name(tmp_path):
    model = trained_on_files(tmp_path)
    assert onward.lower(model, opset=20)
    with pytest.raises(onward.Error, match=r"node 'pixels' \(ImageDecoder\): it was added in opset 20"):
        onward.lower(model, opset=19)
