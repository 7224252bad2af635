#include "cli/train_skip.h"

#include <fmt/format.h>

#include "data/deflate.h"
#include "onward/error.h"

namespace onward::cli {

size_t skip_unreadable(Feeds& feeds, const TrainArguments& options, bool resumed,
                       std::map<std::string, std::string>& kept) {
  const auto before = kept.find(kSkipUnreadable);
  if (resumed && before == kept.end()) {
    if (!options.reading.skips_unreadable) return 0;
    throw Error(
        fmt::format("the checkpoint was made without {0}: omit {0} to resume", kSkipUnreadable));
  }
  DataArguments reading = options.reading;
  reading.skips_unreadable |= resumed;
  if (!reading.skips_unreadable) return 0;
  const std::vector<int64_t> places = skip_unreadable(feeds, reading);
  const std::string skipped = fmt::format(
      "{} {:08x}", places.size(), crc32_of(std::as_bytes(std::span<const int64_t>(places))));
  if (resumed && before->second != skipped) {
    throw Error(
        "the images that cannot be decoded are others than when the checkpoint was made: restore "
        "them, or start over with another --checkpoint folder",
        ErrorCode::data);
  }
  kept[kSkipUnreadable] = skipped;
  return places.size();
}

}  // namespace onward::cli
