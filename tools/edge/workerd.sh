#!/bin/sh
# Runs workerd ($WORKERD), and ends it once the program that started it is gone, even by kill -9.
parent=$PPID
(
  while kill -0 "$parent" && kill -0 $$; do sleep 1; done
  kill -9 $$
) </dev/null >/dev/null 2>&1 3>&- &
exec "$WORKERD" "$@"
