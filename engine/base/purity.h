/* Included before every file of the engine: what pure code must not name.
 * The C headers come first, so that their own declarations are past when the names are poisoned. */
#ifndef GNOMON_ENGINE_PURITY_H
#define GNOMON_ENGINE_PURITY_H

#include <complex.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison printf fprintf puts fputs putchar perror fopen fclose fread fwrite scanf fscanf
#pragma GCC poison time clock clock_gettime gettimeofday nanosleep                          sleep
#pragma GCC poison rand srand random srandom drand48 getenv setenv system abort             exit
#pragma GCC poison                                                                          lgamma

#endif
