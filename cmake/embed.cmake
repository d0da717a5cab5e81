# SPDX-License-Identifier: MIT
#
# A file as a C string, with the SHA-256 of the file beside it:
#   cmake -DINPUT=FILE -DOUTPUT=FILE.c -DNAME=WORD -P cmake/embed.cmake
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((0x..,){16})" "\\1\n" bytes "${bytes}")
file(SHA256 ${INPUT} hash)
file(WRITE ${OUTPUT} "extern const char ${NAME}[], ${NAME}_sha256[];\n"
    "const char ${NAME}[] = {\n${bytes}0};\nconst char ${NAME}_sha256[] = \"${hash}\";\n")
