/* The program's version, in one place. */
#ifndef GNOMON_SERVICE_BASE_VERSION_H
#define GNOMON_SERVICE_BASE_VERSION_H

#define GNOMON_VERSION "1.0.0"

#endif
