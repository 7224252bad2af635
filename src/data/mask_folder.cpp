#include "data/mask_folder.h"

#include <fmt/format.h>

#include <map>

#include "ir/utf8.h"
#include "onward/error.h"

namespace onward {
namespace {

namespace fs = std::filesystem;

/// "cats/tom" of "cats/tom.jpg".
std::string stem_of(const std::string& name) { return fs::path(name).replace_extension().string(); }

std::map<std::string, int64_t> by_stem(const ImageFolder& files, const char* of_one) {
  std::map<std::string, int64_t> places;
  for (int64_t i = 0; i < files.size(); ++i) {
    const auto [at, is_new] = places.emplace(stem_of(files.name(i)), i);
    if (is_new) continue;
    throw Error(fmt::format("'{}' and '{}' would be {}: rename one of them",
                            printable(files.name(at->second)), printable(files.name(i)), of_one),
                ErrorCode::data);
  }
  return places;
}

/// "'a.png'", "'a.png', 'b.png' and 7 others".
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", printable(names[i]));
  }
  if (names.size() > kMost) text += fmt::format(" and {} others", names.size() - kMost);
  return text;
}

}  // namespace

bool MaskFolder::is_beside_images(const fs::path& root) {
  std::error_code failure;
  int64_t folders = 0;
  for (const auto& entry : fs::directory_iterator(root, failure)) {
    std::error_code unknown;
    const std::string name = entry.path().filename().string();
    if (name.starts_with('.') || !entry.is_directory(unknown)) continue;
    if (name != kImagesFolder && name != kMasksFolder) return false;
    ++folders;
  }
  return !failure && folders == 2;
}

MaskFolder::MaskFolder(const fs::path& root, const ImageFolder& images) : files_(root) {
  const auto masks = by_stem(files_, "the mask of one image");
  const auto wanted = by_stem(images, "images of one mask");
  std::vector<std::string> missing, extra;
  for (int64_t i = 0; i < images.size(); ++i) {
    const auto found = masks.find(stem_of(images.name(i)));
    if (found == masks.end()) {
      missing.push_back(images.name(i));
    } else {
      places_.push_back(found->second);
    }
  }
  for (int64_t i = 0; i < files_.size(); ++i) {
    if (!wanted.contains(stem_of(files_.name(i)))) extra.push_back(files_.name(i));
  }
  if (missing.empty() && extra.empty()) return;
  std::string problem;
  if (!missing.empty()) {
    problem = fmt::format("{} of {} images have no mask: {}; put masks of the same names into '{}'",
                          missing.size(), images.size(), listed(missing), printable(root.string()));
  }
  if (!extra.empty()) {
    problem += fmt::format("{}{} of {} masks have no image: {}; take them out of '{}'",
                           problem.empty() ? "" : "\n  ", extra.size(), files_.size(),
                           listed(extra), printable(root.string()));
  }
  throw Error(problem, ErrorCode::data);
}

}  // namespace onward
