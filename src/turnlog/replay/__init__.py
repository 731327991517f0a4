"""Running a recorded program again, with what came back then in place of the network and of side effects."""
