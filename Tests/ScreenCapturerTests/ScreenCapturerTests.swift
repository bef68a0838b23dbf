import Testing

/// All tests of screens, one at a time: they block while they wait, and servers and pictures take processor time.
@Suite(.serialized, .timeLimit(.minutes(10))) enum ScreenCapturerTests {}
