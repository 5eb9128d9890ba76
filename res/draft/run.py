"""runs the code cells of build.py as a script, shows what they print, saves figures"""
import sys,traceback,os
os.environ["MPLBACKEND"]="Agg"
exec(open('res/draft/build.py').read())
import matplotlib; matplotlib.use("Agg")
upto=sys.argv[1] if len(sys.argv)>1 else None
only=set(sys.argv[2].split(",")) if len(sys.argv)>2 else None
ns={"__name__":"__main__"}
import time
from vit_course import plots
class S: n=0
def show(fig,alt):
    S.n+=1; fig.savefig(f"res/draft/fig_{S.id}.png",dpi=80,bbox_inches="tight")
plots.show=show
for kind,id,meta,text in CELLS:
    if kind!="code": continue
    S.id=id; t=time.process_time()
    text=text.replace("%matplotlib inline\n","")
    if only is not None and id not in only: continue
    print("##",id)
    try: exec(compile(text,id,"exec"),ns)
    except Exception: traceback.print_exc(); break
    print(f"   [{time.process_time()-t:.1f} s]")
    if id==upto: break
