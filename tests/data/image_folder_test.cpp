#include "data/image_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>

#include "data/feeds.h"
#include "data/image_reader.h"
#include "onward/error.h"
#include "tests/temporary_folder.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

/// A gray image of 2 x 2 pixels.
void write_image(const fs::path& file, const std::string& samples = "\1\2\3\4") {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << "P5 2 2 255\n" << samples;
}

std::string said(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ImageFolder, ListsImagesByClass) {
  const TemporaryFolder folder;
  for (const char* name : {"b/2.PGM", "b/1.pgm", "a/deep/er/x.pgm", "a/y.pgm", "a/.hidden.pgm"}) {
    write_image(folder.path() / name);
  }
  for (const char* name : {"a/notes.txt", "readme.md", ".DS_Store"}) {
    std::ofstream(folder.path() / name) << "text";
  }
  fs::create_directories(folder.path() / ".ipynb_checkpoints");
  fs::create_symlink(folder.path() / "b/1.pgm", folder.path() / "b/3.pgm");
  const ImageFolder images(folder.path(), {});
  EXPECT_EQ(images.classes(), (std::vector<std::string>{"a", "b"}));
  std::vector<std::string> names;
  for (int64_t i = 0; i < images.size(); ++i) names.push_back(images.name(i));
  EXPECT_EQ(names, (std::vector<std::string>{"a/y.pgm", "a/deep/er/x.pgm", "b/1.pgm", "b/2.PGM",
                                             "b/3.pgm"}));
  EXPECT_EQ(images.labels(), (std::vector<int64_t>{0, 0, 1, 1, 1}));
  EXPECT_EQ(images.ignored(), (std::vector<std::string>{"readme.md", "a/notes.txt"}));
  EXPECT_EQ(ImageFolder(folder.path(), {"z", "b", "a"}).labels(),
            (std::vector<int64_t>{2, 2, 1, 1, 1}));
}

TEST(ImageFolder, NeedsNoClasses) {
  const TemporaryFolder folder;
  for (const char* name : {"b.pgm", "a/x.pgm"}) write_image(folder.path() / name);
  const ImageFolder images(folder.path());
  ASSERT_EQ(images.size(), 2);
  EXPECT_EQ(images.name(0), "b.pgm");
  EXPECT_EQ(images.name(1), "a/x.pgm");
  EXPECT_TRUE(images.labels().empty());
  EXPECT_EQ(ImageFolder(folder.path() / "a/x.pgm").name(0), "x.pgm");
  DataOptions options;
  options.is_labeled = false;
  EXPECT_EQ(open_dataset(folder.path().string(), options).description(), "image (2 files)");
  EXPECT_EQ(open_dataset((folder.path() / "b.pgm").string(), options).size(), 1);
  fs::remove_all(folder.path() / "a");
  fs::remove(folder.path() / "b.pgm");
  EXPECT_NE(said([&] { open_dataset(folder.path().string(), options); }).find("has no images"),
            std::string::npos);
}

TEST(ImageFolder, SaysWhatIsWrong) {
  struct Row {
    const char* name;
    std::function<void(const fs::path&)> make;
    const char* words;
  };
  const Row rows[] = {
      {"no folder of images", [](const fs::path&) {},
       "the folder has no .npy files, and no folders"},
      {"a class without images", [](const fs::path& f) { fs::create_directories(f / "b"); },
       "class 'b' has no images"},
      {"an image of no class",
       [](const fs::path& f) {
         write_image(f / "x.pgm");
         fs::create_directories(f / "b");
       },
       "image 'x.pgm' belongs to no class"},
      {"a class by no name", [](const fs::path& f) { write_image(f / "\xff/x.pgm"); },
       "its name is not UTF-8"},
      {"an unknown class", [](const fs::path& f) { write_image(f / "aa/x.pgm"); },
       "unknown class 'aa'"},
      {"a link out",
       [](const fs::path& f) {
         fs::create_directories(f / "a");
         fs::create_symlink("/etc/passwd", f / "a/x.pgm");
       },
       "leads out of the folder"},
      {"a class that is a link out", [](const fs::path& f) { fs::create_symlink("/etc", f / "a"); },
       "leads out of the folder"},
      {"a link to nothing",
       [](const fs::path& f) {
         fs::create_directories(f / "a");
         fs::create_symlink("none", f / "a/x.pgm");
       },
       "leads nowhere"},
      {"a link to where it is",
       [](const fs::path& f) {
         write_image(f / "a/x.pgm");
         fs::create_symlink("..", f / "a/b");
       },
       "is a link to a folder"},
      {"a pipe",
       [](const fs::path& f) {
         fs::create_directories(f / "a");
         ::mkfifo((f / "a/x.pgm").c_str(), 0600);
       },
       "is not a file"},
  };
  for (const Row& row : rows) {
    const TemporaryFolder folder;
    row.make(folder.path());
    DataOptions options;
    options.classes = {"a", "b"};
    const std::string words = said([&] { open_dataset(folder.path().string(), options); });
    EXPECT_NE(words.find(row.words), std::string::npos) << row.name << ": " << words;
    EXPECT_NE(words.find("in '" + folder.path().string()), std::string::npos) << words;
  }
}

TEST(ImageForm, FollowsFromTheInput) {
  struct Row {
    Type type;
    const char* result;  // the dimensions of two, or what is wrong
  };
  const auto f32 = [](Shape shape) { return Type::tensor(DType::f32, std::move(shape)); };
  const auto n = [](int64_t value) { return Dim::known(value); };
  const Dim open = Dim::named("N");
  const Row rows[] = {
      {f32({open, n(3), n(5), n(7)}), "[2,3,5,7]"},
      {f32({open, n(5), n(7), n(1)}), "[2,5,7,1]"},
      {f32({open, n(3), n(5), n(3)}), "[2,3,5,3]"},
      {f32({open, n(5), n(7)}), "[2,5,7]"},
      {f32({open, n(4), n(5), n(7)}), "neither its second nor its last dimension"},
      {f32({open, n(3), open, n(7)}), "its height is open"},
      {f32({open, n(3), n(5), n(0)}), "its width is 0"},
      {f32({open, n(25)}), "images take an input of 4 dimensions"},
      {Type::tensor(DType::f32), "images take an input of 4 dimensions"},
  };
  for (const Row& row : rows) {
    std::string result;
    const std::string words = said([&] { result = to_string(image_form(row.type, {}).dims(2)); });
    if (result.empty()) result = words;
    EXPECT_TRUE(result.starts_with(row.result)) << to_string(row.type) << ": " << result;
  }
  ImageOptions options;
  options.size = {5, 9};
  EXPECT_EQ(image_form(f32({open, n(1), open, open}), options).dims(2),
            (std::vector<int64_t>{2, 1, 5, 9}));
  EXPECT_NE(said([&] {
              image_form(f32({open, n(1), open, n(8)}), options);
            }).find("asks for a width of 9"),
            std::string::npos);
  options.mean = {1, 2, 3};
  EXPECT_NE(said([&] { image_form(f32({open, n(1), open, open}), options); }).find("give one mean"),
            std::string::npos);
  options.resize = 8;
  EXPECT_NE(
      said([&] { image_form(f32({open, n(3), open, open}), options); }).find("larger --resize"),
      std::string::npos);
}

TEST(ImageReader, GivesTheSameAheadOfTime) {
  const TemporaryFolder folder;
  for (int i = 0; i < 40; ++i) {
    const char sample = static_cast<char>(i);
    write_image(folder.path() / "a" / (std::to_string(100 + i) + ".pgm"), std::string(4, sample));
  }
  std::ofstream(folder.path() / "a/120.pgm") << "P5 2 2 255\nno";
  const auto images =
      std::make_shared<const ImageFolder>(folder.path(), std::vector<std::string>());
  DataOptions options;
  options.images.scale = 1;
  ImageReader reader(images, Type::tensor(DType::f64, std::vector<int64_t>{1, 1, 2, 2}), options);
  const auto sample = [&](int64_t image) {
    const std::vector<int64_t> one = {image};
    return reader.batch(one).images.number(3);
  };
  for (const int threads : {1, 3}) {
    reader.expect({39, 3, 20, 7, 7, 0, 11, 12, 13}, {.examples = 4, .threads = threads});
    EXPECT_EQ(sample(39), 39);
    EXPECT_EQ(sample(3), 3);
    EXPECT_NE(said([&] { sample(20); }).find("a/120.pgm': repair it"), std::string::npos);
    EXPECT_EQ(sample(7), 7);
    EXPECT_EQ(sample(30), 30);  // not the one that was expected
    EXPECT_EQ(sample(7), 7);
    EXPECT_EQ(sample(0), 0);
  }
  reader.expect({1, 2}, {});  // nobody takes them
}

TEST(Feeds, GivesImagesToInputsOfOtherNames) {
  const TemporaryFolder folder;
  write_image(folder.path() / "a/x.pgm");
  const auto slot = [](const char* name, DType dtype, int rank) {
    return InputSlot{
        .name = name,
        .type = Type::tensor(dtype, std::vector<int64_t>(static_cast<size_t>(rank), 1))};
  };
  const InputSlot x = slot("x", DType::f32, 4), y = slot("y", DType::i64, 1);
  const auto names_fed = [&](const std::vector<InputSlot>& slots, const ArrayNames& names = {}) {
    std::string text;
    const std::string words = said([&] {
      const std::vector<int64_t> rows = {0};
      const Feeds feeds(open_dataset(folder.path().string()), slots, names);
      for (const auto& [name, array] : feeds.batch(rows)) {
        text += name + " " + to_string(array.type()) + " ";
      }
    });
    return words == "no error" ? text : words;
  };
  EXPECT_EQ(names_fed({x, y}), "x f32[1,1,1,1] y i64[1] ");
  EXPECT_EQ(names_fed({x}), "x f32[1,1,1,1] ");
  EXPECT_EQ(names_fed({slot("image", DType::u8, 3), slot("label", DType::i32, 1)}),
            "image u8[1,1,1] label i32[1] ");
  const InputSlot other = slot("other", DType::f32, 4);
  EXPECT_NE(names_fed({x, other}).find("no array 'x' for input 'x'"), std::string::npos);
  EXPECT_EQ(names_fed({x, other}, {{"x", "image"}, {"other", "image"}}),
            "other f32[1,1,1,1] x f32[1,1,1,1] ");
  EXPECT_NE(names_fed({slot("image", DType::i64, 3)}).find("images are floats or u8"),
            std::string::npos);
}

TEST(DataOptions, OfAModelAreThoseThatWereKept) {
  Model model;
  EXPECT_EQ(data_options_of(model).images, ImageOptions());
  ImageOptions options{.size = std::array<int64_t, 2>{5, 6},
                       .resize = 9,
                       .scale = 0.1,
                       .mean = {0.1, 0.2, 0.3},
                       .std = {2}};
  model.metadata = {{kImagesKey, to_json(options)},
                    {kClassesKey, to_json(std::vector<std::string>{"\xc3\xa9", "b"})}};
  EXPECT_EQ(data_options_of(model).images, options);
  EXPECT_EQ(data_options_of(model).classes, (std::vector<std::string>{"\xc3\xa9", "b"}));
  const std::pair<const char*, const char*> damaged[] = {
      {kClassesKey, "["},
      {kClassesKey, R"(["a","a"])"},
      {kClassesKey, "[1]"},
      {kImagesKey, "{}"},
      {kImagesKey, R"({"scale":0,"mean":[0],"std":[1]})"},
      {kImagesKey, R"({"scale":1,"mean":[0,1],"std":[1]})"},
      {kImagesKey, R"({"scale":1,"mean":[0],"std":[-1]})"},
      {kImagesKey, R"({"scale":1,"mean":[0],"std":[1],"size":[0,5]})"},
      {kImagesKey, R"({"scale":1,"mean":[0],"std":[1],"resize":1000000})"}};
  for (const auto& [key, text] : damaged) {
    model.metadata = {{key, text}};
    EXPECT_NE(said([&] { data_options_of(model); }).find(key), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace onward
