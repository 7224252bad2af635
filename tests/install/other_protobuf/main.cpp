// Uses Debian's protobuf and Onward, which has another one inside, in turns: main MODEL

#include <onward/onward.h>

#include <cstdio>

#include "greeting.pb.h"

int main(int, char** argv) {
  Greeting greeting, read;
  greeting.set_text("hello");
  for (int i = 0; i < 100; ++i) greeting.add_numbers(i);
  const onward::Model model = onward::load(argv[1]);
  const bool parsed = read.ParseFromString(greeting.SerializeAsString());
  const onward::Model again = onward::load_bytes(model.to_bytes());
  try {
    onward::load_bytes("no model");
    return 1;
  } catch (const onward::Error& error) {
    if (error.code() != onward::ErrorCode::invalid_model) return 1;
  }
  std::printf("%s, %d numbers of %s, protobuf %d; %zu outputs\n", parsed ? "parsed" : "damaged",
              read.numbers_size(), read.GetDescriptor()->full_name().c_str(),
              GOOGLE_PROTOBUF_VERSION, again.outputs().size());
  google::protobuf::ShutdownProtobufLibrary();
}
