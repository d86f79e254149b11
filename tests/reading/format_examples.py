"""A small file with at least five samples for every format of the register, which the exam reads."""

import pyarrow as pa
import pyarrow.parquet as pq


def _parquet():
    buffer = pa.BufferOutputStream()
    samples = {"execution": ["a"] * 6, "timestamp": list(range(6)), "cpu_cores": [0.1] * 6}
    pq.write_table(pa.table(samples), buffer)
    return bytes(buffer.getvalue())


def _rows(row, n=6, start=0):
    return "".join(row(i) for i in range(start, start + n))


EXAMPLES = {
    "parquet": _parquet(),
    "pidstat": "Linux 6.1 (h) \t01/13/2024 \t_x86_64_\t(4 CPU)\n\n00:00:00  UID  PID  %CPU  CPU  Command\n"
    + _rows(lambda i: f"00:0{i}:00  0  7  5{i}.00  1  python\n"),
    "sadf": "# hostname;interval;timestamp;CPU;%user;%idle\n"
    + _rows(lambda i: f"h;10;2024-01-01 00:00:{i}0 UTC;-1;5.0;{90 - i}.0\n"),
    "sar": "Linux 6.1 (h) \t01/01/2024 \t_x86_64_\t(4 CPU)\n\n00:00:00  CPU  %user  %idle\n"
    + _rows(lambda i: f"00:0{i}:00  all  5.00  {90 - i}.00\n"),
    "top": _rows(
        lambda i: f"top - 09:00:{i}0 up 1 day\n\n  PID   RES  %CPU COMMAND\n    7  {i}200  5{i}.0 python3\n"
    ),
    "docker_stats_csv": "time,name,cpu,mem\n" + _rows(lambda i: f"12:00:1{i},a,5.00%,1MiB / 2MiB\n"),
    "docker_stats_json": _rows(
        lambda i: f'{{"time": "12:00:1{i}", "Name": "a", "CPUPerc": "5.00%", "MemUsage": "1MiB / 2MiB"}}\n'
    ),
    "docker_stats": _rows(
        lambda i: f"2026-01-31T12:00:1{i}Z\nNAME  CPU %  MEM USAGE / LIMIT\na  5.00%  1MiB / 2MiB\n"
    ),
    "docker_api": _rows(
        lambda i: (
            f'{{"name": "/a", "read": "2026-01-31T12:00:0{i}Z", "cpu_stats": {{"cpu_usage": {{"total_usage": '
            f'{i + 1}00000000}}}}, "memory_stats": {{"usage": {9_000_000 + i}, "limit": 2147483648}}}}\n'
        ),
        7,
    ),
    "kubectl_top": _rows(
        lambda i: (
            f"2026-01-31T12:00:{10 + 5 * i}Z\nNAME  CPU(cores)  MEMORY(bytes)\ntrain-1  {500 + i}m  512Mi\n"
        )
    ),
    "kubernetes_metrics": _rows(
        lambda i: (
            '{"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": [{"metadata": '
            f'{{"name": "a", "namespace": "ml"}}, "timestamp": "2026-01-31T12:00:{10 + i}Z", "containers": '
            f'[{{"name": "m", "usage": {{"cpu": "{i + 1}00000000n", "memory": "60000{i}Ki"}}}}]}}]}}\n'
        )
    ),
    "crictl_stats": _rows(
        lambda i: (
            '{"stats": [{"attributes": {"id": "a", "metadata": {"name": "m"}}, "cpu": {"timestamp": '
            f'"17000000{10 + i}000000000", "usageCoreNanoSeconds": {{"value": "{i + 1}00000000"}}}}, '
            f'"memory": {{"workingSetBytes": {{"value": "{90_000_000 + i}"}}}}}}]}}\n'
        ),
        7,
    ),
    "cgtop": _rows(
        lambda i: (
            f"2026-01-31T12:00:1{i}Z\n/ 212 90.0 3.4G - -\nsystem.slice/a.service 24 8{i}.0 51{i}.0M - -\n\n"
        )
    ),
    "psrecord": "# Elapsed time   CPU (%)     Real (MB)   Virtual (MB)\n"
    + _rows(lambda i: f"{i}.0  50.0  100.{i}  200.0\n"),
    "mprof": "CMDLINE python train.py\n" + _rows(lambda i: f"MEM 2{i}.5 176000000{i}.0000\n"),
    "nvidia_smi": "timestamp, index, utilization.gpu [%], memory.used [MiB]\n"
    + _rows(lambda i: f"2026/01/31 12:00:0{i}.000, 0, 9{i} %, 1000 MiB\n"),
    "nvidia_smi_noheader": _rows(
        lambda i: f"2026/01/31 12:00:0{i}.000, 9{i} %, 4{i} %, 1000 MiB, 24000 MiB, 30, 250.6{i} W\n"
    ),
    "nvidia_dmon": "#Date Time gpu pwr sm mem\n#YYYYMMDD HH:MM:SS Idx W % %\n"
    + _rows(lambda i: f"20260131 12:00:0{i} 0 250 9{i} 40\n"),
    "dcgmi_dmon": "#Entity GPUTL MCUTL POWER\nID W\n" + _rows(lambda i: f"GPU 0 9{i} 40 250.{i}\n"),
    "json_records": '[{"container": "a", "t": 0, "cpu_cores": 0.5, "memory": {"bytes": 250000000}}'
    + _rows(
        lambda i: f',\n {{"container": "a", "t": {i}, "cpu_cores": 0.7, "memory": {{"bytes": 260000000}}}}',
        start=1,
    )
    + "]",
    "json_lines": _rows(
        lambda i: f'{{"container": "a", "t": {i}, "cpu_cores": 0.5, "memory": {{"bytes": 250000000}}}}\n'
    ),
    "spaced": "time  cpu_cores  memory_mib\n" + _rows(lambda i: f"{10 * i}  0.{i}  51{i}\n"),
    "prometheus_json": '{"status": "success", "data": {"resultType": "matrix", "result": [{"metric": '
    '{"__name__": "container_memory_usage_bytes", "container": "a"}, "values": '
    '[[0, "0"], [10, "1"], [20, "2"], [30, "3"], [40, "4"], [50, "5"]]}]}}',
    "long_table": "timestamp,__name__,container,value\n"
    + _rows(lambda i: f"{10 * i},container_memory_usage_bytes,a,{i}\n"),
    "wide_table": "Time,cpu train-1,cpu train-2\n" + _rows(lambda i: f"{10 * i},0.{i},0.5\n"),
    "dstat": '"Dstat 0.7.4 CSV output"\n"Host:","h"\n'
    '"Cmdline:","dstat",,,,"Date:","15 Jan 2026 10:00:00 UTC"\n\n'
    '"system","total cpu usage",,"memory usage",\n"time","usr","idl","used","free"\n'
    + _rows(lambda i: f"15-01 10:00:{i}0,5.0,{90 - i}.0,5e8,1e9\n"),
    "bitbrains": "Timestamp [ms];CPU cores;CPU usage [%];Memory usage [KB]\n"
    + _rows(lambda i: f"{1_376_314_846 + 300 * i};4;{50 + i}.5;6129274.4\n"),
    "csv": "execution,timestamp,cpu_cores,memory_bytes\n" + _rows(lambda i: f"a,{10 * i},0.{i},{1000 + i}\n"),
}
