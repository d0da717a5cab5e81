#!/bin/sh
# SPDX-License-Identifier: MIT
# Languages whose runtimes manage memory, signals and threads by themselves: those that are installed give the same
# answers under the library.
. "$(dirname "$0")/../../programs/same.sh"

try() { # PROGRAM ARGUMENTS...
    command -v "$1" >/dev/null 2>&1 || return
    work() { "$@" 2>&1; }
    same "$1" work "$@"
}

cat >"$place/work.ml" <<'END'
let () =
  let table = Hashtbl.create 10 in
  for i = 0 to 300000 do Hashtbl.replace table i (string_of_int i) done;
  Gc.full_major (); Printf.printf "%d\n" (Hashtbl.length table)
END
cat >"$place/work.tcl" <<'END'
for {set i 0} {$i < 300000} {incr i} {dict set d $i [string repeat x [expr $i % 20]]}
puts [dict size $d]
END
try sbcl --noinform --non-interactive --eval '(progn (let ((h (make-hash-table)))
    (dotimes (i 300000) (setf (gethash i h) (list i i))) (gc :full t) (print (hash-table-count h)))
    (handler-case (error "x") (error (e) (print (type-of e)))) (terpri))'
try emacs --batch --eval '(let ((h (make-hash-table))) (dotimes (i 200000) (puthash i (format "%d" i) h))
    (garbage-collect) (message "%d" (hash-table-count h)))'
try erl -noshell -eval 'L=[spawn(fun() -> receive {P,X} -> P ! lists:sum(lists:seq(1,X)) end end) || _ <- lists:seq(1,2000)],
    [P ! {self(),1000} || P <- L], io:format("~p~n",[lists:sum([receive X -> X end || _ <- L])]), halt(0).'
try ocaml "$place/work.ml"
try tclsh "$place/work.tcl"
# shellcheck disable=SC2016 # php expands them
try php -r '$a=[]; for($i=0;$i<300000;$i++){$a["k$i"]=str_repeat("x",$i%50);} echo md5(serialize($a)),"\n";'
try Rscript -e 'set.seed(1); x <- lapply(1:20000, function(i) rnorm(10)); print(sum(sapply(x, sum)))'
try guile -c '(define (f n) (if (= n 0) (list) (cons (make-string 10 #\a) (f (- n 1)))))
    (do ((i 0 (+ i 1))) ((= i 30)) (f 20000)) (display (length (f 100000))) (newline)'
try racket -e '(define h (make-hash)) (for ([i 300000]) (hash-set! h i (number->string i)))
    (collect-garbage) (displayln (hash-count h))'
try octave-cli --no-init-file --eval 'a = magic(200); disp(trace(a * a))'
try lua5.4 -e 'local t={} for i=1,200000 do t[i]={i,tostring(i)} end print(#t)'
try luajit -e 'local t={} for i=1,200000 do t[i]={i,tostring(i)} end print(#t)'
try clisp -q -x '(length (loop for i below 200000 collect (list i i)))'
try gforth -e ': t 100000 0 do 100 allocate throw free throw loop ; t 42 . cr bye'
try faketime '2020-01-01 00:00:00' date +%Y
try eatmydata sh -c 'seq 100000 | sort | md5sum'
finish
