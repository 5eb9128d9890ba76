import sys; sys.path.insert(0,'./tests'); sys.argv=['x']
import io, json, nbformat
src=open('res/draft/build.py').read()+"\n"+open('res/draft/tail.py').read().replace('if __name__ == "__main__":','if False:')
import os
if not os.path.exists('res/draft/ch11_ex_2.json'): src=src.replace("for number in (1, 2)","for number in (1,)")
ns={"__name__":"x"}; exec(src,ns); nb=nbformat.reads(json.dumps(ns["notebook"]()),as_version=4)
import tables
p=tables.parts(nb); main=p["before"]+p["after"]
print("words before",tables.words(p["before"]),"after",tables.words(p["after"]),"cells",len(p["before"]),"lines",tables.lines(main),"min",tables.words(main)/130+tables.lines(main)/8+1)
