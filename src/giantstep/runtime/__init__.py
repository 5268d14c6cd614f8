"""What the operating system gives: processes, threads, progress on a terminal."""
