/* LAW(name, e): e holds whenever it is met. A law has a line of its own: a replay gives the line, and so the name. */
#define LAW(name, e) assert(e)
