// A pile has the room that its contacts need; where the room given is too small, the message says so.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/app/program.h"
#include "tests/temp_folder.h"

namespace hotloop {
namespace {

TEST(ContactRoom, IsNamedWhereItIsShortAndCanBeRaised) {
  const TempFolder folder;
  const std::string file = (folder / "spheres.xml").string();
  {
    std::ofstream xml(file);
    xml << "<mujoco><worldbody><geom type='plane' size='5 5 1'/>\n";
    for (int i = 0; i < 27; ++i)  // a cube of spheres that just touch
      xml << "<body pos='" << 0.199 * (i % 3) << " " << 0.199 * (i / 3 % 3) << " " << 0.0995 + 0.199 * (i / 9)
          << "'><joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 0'/><joint type='slide' axis='0 0 1'/>"
          << "<geom size='0.1'/></body>\n";
    xml << "</worldbody></mujoco>\n";
  }
  const auto bench = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"bench", "physics", "--device", "cpu",       "--num-envs",
                                      "1",     "--model", file,       "--results", (folder / "results").string()};
    words.insert(words.end(), more.begin(), more.end());
    return run_program(words, ".", 60);
  };
  const ProgramResult short_of_room = bench({"--max-contacts", "50"});
  EXPECT_EQ(short_of_room.status, 2);
  EXPECT_NE(short_of_room.err.find("spheres.xml"), std::string::npos) << short_of_room.err;
  EXPECT_NE(short_of_room.err.find("--max-contacts"), std::string::npos) << short_of_room.err;
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--max-contacts", "100"}}) {
    const ProgramResult roomy = bench(more);
    EXPECT_EQ(roomy.status, 0) << roomy.err;
    EXPECT_NE(roomy.out.find("physics.spheres.1.noise"), std::string::npos) << roomy.out;
  }
}

}  // namespace
}  // namespace hotloop
