"""When what is asked: open-loop arrivals, repeats and paraphrases, ramps and traces."""
from pace_ros.study.workload.arrivals import Arrival, poisson, rate, steady
from pace_ros.study.workload.hypotheses import spoken
from pace_ros.study.workload.ramp import PHASES, ramp
from pace_ros.study.workload.request import MEASURED, WARM_UP, Request
from pace_ros.study.workload.stream import stream
from pace_ros.study.workload.traces import TraceError, read_trace, scaled, traced

__all__ = ['MEASURED', 'PHASES', 'WARM_UP', 'Arrival', 'Request', 'TraceError', 'poisson', 'ramp', 'rate', 'read_trace',
           'scaled', 'spoken', 'steady', 'stream', 'traced']
