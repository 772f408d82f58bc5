# Café: in another encoding. #! E001 6 this is not UTF-8: byte 0xE9
spec nothing(N = 1) { }
