#include "data/image_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>

#include "ir/memory_limit.h"
#include "ir/suggestion.h"
#include "ir/utf8.h"
#include "onward/error.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kImageExtensions[] = {".bmp",  ".dib", ".j2k",  ".jfif", ".jp2", ".jpe",
                                                 ".jpeg", ".jpg", ".pbm",  ".pgm",  ".png", ".pnm",
                                                 ".ppm",  ".tif", ".tiff", ".webp"};

/// A message lists no more classes than that.
constexpr size_t kMaxListed = 20;

bool is_image_name(const fs::path& file) {
  std::string extension = file.extension().string();
  std::ranges::transform(extension, extension.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return std::ranges::find(kImageExtensions, extension) != std::end(kImageExtensions);
}

/// What tools leave behind: .DS_Store, .ipynb_checkpoints.
bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

/// What is in a folder by name, as the order on the disk is the machine's own.
std::vector<fs::directory_entry> sorted_entries(const fs::path& folder) {
  std::error_code failure;
  std::vector<fs::directory_entry> entries;
  for (fs::directory_iterator each(folder, failure), end; !failure && each != end;
       each.increment(failure)) {
    if (!is_hidden(each->path())) entries.push_back(*each);
  }
  if (failure) {
    throw Error(
        fmt::format("cannot read folder '{}': {}", printable(folder.string()), failure.message()),
        ErrorCode::file);
  }
  std::ranges::sort(entries, {}, [](const fs::directory_entry& entry) {
    return entry.path().filename().string();
  });
  return entries;
}

}  // namespace

bool ImageFolder::is_one(const fs::path& root) {
  const auto entries = sorted_entries(root);
  return std::ranges::any_of(entries, [](const fs::directory_entry& entry) {
    std::error_code failure;
    return entry.is_directory(failure);
  });
}

bool ImageFolder::is_image(const fs::path& file) { return is_image_name(file); }

ImageFolder::ImageFolder(const fs::path& path)
    : root_(fs::is_directory(path) ? path : path.parent_path()),
      real_root_(fs::canonical(root_.empty() ? "." : root_)) {
  if (fs::is_directory(path)) {
    add_folder(root_);
  } else {
    add_file(fs::directory_entry(path));
  }
  if (files_.empty()) throw Error("the folder has no images");
}

ImageFolder::ImageFolder(fs::path root, std::vector<std::string> classes)
    : root_(std::move(root)), real_root_(fs::canonical(root_)), classes_(std::move(classes)) {
  std::vector<std::string> names;
  for (const auto& entry : sorted_entries(root_)) {
    std::error_code failure;
    const std::string name = entry.path().filename().string();
    if (entry.is_directory(failure)) {
      require_inside(entry.path());
      if (!is_readable_utf8(name)) {
        throw Error(
            fmt::format("the folder '{}' would name a class, but its name is not UTF-8: "
                        "rename it",
                        printable(name)));
      }
      names.push_back(name);
    } else if (is_image_name(entry.path())) {
      throw Error(
          fmt::format("image '{}' belongs to no class: put each image into a folder that has the "
                      "name of its class",
                      printable(name)));
    } else {
      ignored_.push_back(name);
    }
  }
  if (classes_.empty()) classes_ = names;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(classes_, name);
    if (found == classes_.end()) {
      const std::string which =
          classes_.size() <= kMaxListed
              ? unknown_name("class", name, classes_)
              : fmt::format("unknown class '{}' {}", name, did_you_mean(name, classes_));
      throw Error(
          fmt::format("{}\n  the model keeps the names of {} classes without this one; rename "
                      "the folder, or train with --refit to number classes anew",
                      which, classes_.size()));
    }
    add_class(name, found - classes_.begin());
  }
  if (files_.empty()) throw Error("the folder has no images");
}

void ImageFolder::add_class(const std::string& name, int64_t label) {
  add_folder(root_ / name);
  if (files_.size() == labels_.size()) {
    throw Error(fmt::format("class '{}' has no images: its folder '{}' holds none", name,
                            (root_ / name).string()));
  }
  labels_.resize(files_.size(), label);
}

void ImageFolder::add_folder(fs::path first) {
  std::vector<fs::path> folders = {std::move(first)};
  while (!folders.empty()) {
    const fs::path folder = std::move(folders.back());
    folders.pop_back();
    std::vector<fs::path> inner;
    for (const auto& entry : sorted_entries(folder)) {
      std::error_code failure;
      if (!entry.is_directory(failure)) {
        if (!add_file(entry)) {
          ignored_.push_back(entry.path().lexically_relative(root_).string());
        }
      } else if (entry.is_symlink(failure)) {  // it may lead back to where we come from
        throw Error(fmt::format("'{}' is a link to a folder: put the folder itself in its place",
                                printable(entry.path().string())));
      } else {
        inner.push_back(entry.path());
      }
    }
    folders.insert(folders.end(), inner.rbegin(), inner.rend());
  }
}

bool ImageFolder::add_file(const fs::directory_entry& entry) {
  if (!is_image_name(entry.path())) return false;
  std::error_code failure;
  if (entry.is_symlink(failure)) require_inside(entry.path());
  if (!entry.is_regular_file(failure)) {  // a pipe would be waited for, a broken link is a loss
    throw Error(fmt::format("'{}' is not a file", printable(entry.path().string())),
                ErrorCode::file);
  }
  const auto size = entry.file_size(failure);
  if (failure) {
    throw Error(fmt::format("'{}': {}", printable(entry.path().string()), failure.message()),
                ErrorCode::file);
  }
  files_.push_back(root_.empty() ? entry.path().string()
                                 : entry.path().lexically_relative(root_).string());
  bytes_.push_back(static_cast<int64_t>(size));
  return true;
}

/// A folder of somebody else could make us read, and learn from, any file of this machine.
void ImageFolder::require_inside(const fs::path& file) const {
  std::error_code failure;
  const fs::path real = fs::canonical(file, failure);
  const fs::path relative = real.lexically_relative(real_root_);
  if (!failure && !relative.empty() && *relative.begin() != "..") return;
  throw Error(
      fmt::format("'{}' is a link that {}: put the file itself in its place",
                  printable(file.string()), failure ? "leads nowhere" : "leads out of the folder"),
      ErrorCode::file);
}

std::string ImageFolder::read(int64_t image) const {
  const int64_t expected = bytes(image);
  refuse_beyond_memory(expected, "the file");
  std::ifstream file(root_ / name(image), std::ios::binary);
  std::string text(static_cast<size_t>(expected), '\0');
  file.read(text.data(), expected);
  if (!file || file.gcount() != expected || file.peek() != std::ifstream::traits_type::eof()) {
    throw Error("the file cannot be read, or has changed since the command began", ErrorCode::file);
  }
  return text;
}

}  // namespace onward
