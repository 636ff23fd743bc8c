#!/bin/sh
# plan-modules.sh BASE HEAD OUT: a plan for each module whose Kafka Streams differs between two checkouts of a project.
#
# Each module has its libraries of run time in BUILD/libraries, where BUILD is target or build, and with Gradle and sbt the
# jars of other modules in BUILD/siblings. The classes are those of BASE, the libraries those of HEAD. OUT gets NAME.sarif
# for each plan, and the runbooks together in summary.md.
# Exit status: 0 all plans have 0, 1 a plan has 1, 2 something could not be planned, 3 a plan has 3 and none has 1 or 2.
set -eu
if [ "$#" -ne 3 ]; then
  echo "expected plan-modules.sh BASE HEAD OUT, got $# words" >&2
  exit 2
fi
base=$1 head=$2 out=$3
worst=0 modules=0
mkdir -p "$out"
: > "$out/summary.md"

worse() { # of two statuses the one that has to be seen: 2, 1, 3, 0
  case $worst$1 in *2*) worst=2 ;; *1*) worst=1 ;; *3*) worst=3 ;; esac
}

problem() {
  echo "$1" | tee -a "$out/summary.md" >&2
  worse 2
}

release() { # the version of the one kafka-streams in a folder of libraries
  find "$1" -name 'kafka-streams-[0-9]*.jar' ! -name '*-test*.jar' ! -name '*-sources.jar' 2>/dev/null |
    sed 's|.*/kafka-streams-||; s|\.jar$||' | sort
}

is_module() { # whether what a build makes, or the sources, have code
  for folder in "$1"/classes "$1"/scala-*/classes "${1%/*}/src/main"; do
    [ ! -d "$folder" ] || return 0
  done
  return 1
}

IFS='
'
for libraries in $(find "$base" -type d -name libraries \( -path '*/target/*' -o -path '*/build/*' \) | sort); do
  old=$(release "$libraries")
  [ -n "$old" ] || continue
  build=${libraries%/libraries}
  module=${build%/*}
  is_module "$build" || continue # a parent of modules
  modules=$((modules + 1))
  module=${module#"$base"}
  module=${module#/}
  here=$head/$module
  new=$(release "$here/${build##*/}/libraries")
  name=$(echo "${module:-root}" | tr / -)
  if [ -z "$new" ] || [ "$(printf '%s\n' "$old" "$new" | wc -l)" -ne 2 ]; then
    problem "$name: expected one kafka-streams in the libraries before and after, got $(echo "${old:-none}" to "${new:-none}" | tr '\n' ' ')"
    continue
  fi
  [ "$old" != "$new" ] || continue

  case $build in
    *target) set -- "$build/classes" "$build"/scala-*/classes ;; # Maven, sbt
    *) set -- "$build"/classes/*/main ;;
  esac
  for classes; do
    shift
    [ ! -d "$classes" ] || set -- "$@" --app "$classes"
  done
  [ ! -d "$build/siblings" ] || set -- "$@" --app "$build/siblings"
  set -- "$@" --app "$here/${build##*/}/libraries"
  for settings in "$here"/src/main/resources/application*.yml "$here"/src/main/resources/application*.yaml \
    "$here"/src/main/resources/application*.properties; do
    [ ! -f "$settings" ] || set -- "$@" --config "$settings"
  done

  status=0
  streams-assignor plan "$old" "$new" "$@" -o sarif --source-root "$here/src" > "$out/$name.part" || status=$?
  [ -s "$out/$name.part" ] || status=2 # a program that ends by itself without a word has no plan either
  worse "$status"
  case $status in
    0 | 1 | 3)
      # Each module is an analysis of its own: results of another one do not replace it.
      sed "s|\"id\": \"streams-assignor/plan/\"|\"id\": \"streams-assignor/plan/$name/\"|" "$out/$name.part" > "$out/$name.sarif"
      { streams-assignor plan "$old" "$new" "$@" -o markdown || true; echo; } >> "$out/summary.md"
      ;;
    *) problem "$name: no plan from $old to $new, see the log" ;;
  esac
  rm "$out/$name.part"
done

[ "$modules" -gt 0 ] || problem "expected a module with Kafka Streams in $base, got none"
exit "$worst"
