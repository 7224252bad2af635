#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace onward {

/// A folder of images with one folder inside for each class, at any depth below it. Files are
/// listed here, and read when they are asked for.
class ImageFolder {
 public:
  /// Labels are the places of the names in `classes`; without any, folders are numbered in the
  /// order of their names. Throws Error where there is no image, a class is unknown, or a link
  /// leads out of the folder.
  ImageFolder(std::filesystem::path root, std::vector<std::string> classes);
  /// Images without classes: one file, or all of a folder at any depth.
  explicit ImageFolder(const std::filesystem::path& path);

  /// Whether there is a folder in it, so that it can be meant as one of images.
  static bool is_one(const std::filesystem::path& root);
  /// Whether a file's name says that it is an image.
  static bool is_image(const std::filesystem::path& file);

  int64_t size() const { return static_cast<int64_t>(files_.size()); }
  const std::vector<std::string>& classes() const { return classes_; }
  /// By image; empty where there are no classes. The order is that of the folders' and the files'
  /// names.
  const std::vector<int64_t>& labels() const { return labels_; }
  /// "cats/tom.jpg".
  const std::string& name(int64_t image) const { return files_[static_cast<size_t>(image)]; }
  int64_t bytes(int64_t image) const { return bytes_[static_cast<size_t>(image)]; }
  const std::filesystem::path& root() const { return root_; }
  /// Files whose names say that they are no images.
  const std::vector<std::string>& ignored() const { return ignored_; }

  /// The contents of the file. Throws Error where it is larger than it was, or can't be read.
  std::string read(int64_t image) const;

 private:
  void add_class(const std::string& name, int64_t label);
  void add_folder(std::filesystem::path folder);
  bool add_file(const std::filesystem::directory_entry& entry);
  void require_inside(const std::filesystem::path& file) const;

  std::filesystem::path root_, real_root_;
  std::vector<std::string> classes_, files_, ignored_;
  std::vector<int64_t> labels_, bytes_;
};

}  // namespace onward
