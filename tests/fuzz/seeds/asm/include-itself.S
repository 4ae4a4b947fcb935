.include "self"
