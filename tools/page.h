/* What a program that writes a page of docs/ provides (page.c). */
#pragma once

#include <stdio.h>

void document_write(FILE *out);
