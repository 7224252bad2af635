#pragma once

#include <memory>
#include <mutex>
#include <vector>

namespace onward {

/// Things of which each is used by one thread at a time: there are as many as threads ask at once.
template <typename T>
class Pool {
 public:
  /// An idle one, or one that is made.
  template <typename Make>
  std::unique_ptr<T> take(const Make& make) {
    {
      const std::scoped_lock lock(mutex_);
      if (!idle_.empty()) {
        auto taken = std::move(idle_.back());
        idle_.pop_back();
        return taken;
      }
    }
    return make();
  }

  void give_back(std::unique_ptr<T> used) {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(used));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace onward
