"""What is measured beside CPU and memory: a role is given only where every word of a name is known."""

import pytest

from core.reading.guessing.cpu_and_memory_columns import guess_other_role
from core.traces.model import Role


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("net_rx_bytes_total", Role.NETWORK_IN),
        ("eth0_tx_MBps", Role.NETWORK_OUT),
        ("container_network_receive_bytes_total interface eth0", Role.NETWORK_IN),
        ("sum by (pod) (rate(container_network_transmit_bytes_total[5m]))", Role.NETWORK_OUT),
        ("Network received throughput [KB/s]", Role.NETWORK_IN),
        ("disk_read_MB/s", Role.BLOCK_IN),
        ("container_fs_writes_bytes_total device sda", Role.BLOCK_OUT),
        ("nvme0n1_write_bytes_per_s", Role.BLOCK_OUT),
        ("gpu_util_percent", Role.GPU),
        ("gpus.0.utilization_percent", Role.GPU),
        ("gpus.NVIDIA A100.util", Role.GPU),
        ("nvidia_gpu_memory_used_bytes", Role.GPU_MEMORY),
        ("DCGM_FI_DEV_FB_USED gpu 1", Role.GPU_MEMORY),
        ("nvidia_smi_utilization_gpu_ratio", Role.GPU),
        ("PhysicalDisk(_Total) Disk Read Bytes/sec", Role.BLOCK_IN),
        ("node_network_receive_bytes_total", Role.NETWORK_IN),
        ("docker_container_net rx_bytes", Role.NETWORK_IN),
        ("gpu_power_draw_w", Role.GPU_POWER),
        ("memory_limit_bytes", Role.MEMORY_LIMIT),
        ("container_spec_cpu_limit_cores", Role.CPU_LIMIT),
        ("loss", Role.LOSS),
    ],
)
def test_a_name_whose_words_are_known_has_a_role(name, role):
    assert guess_other_role(name) is role


@pytest.mark.parametrize(
    "name",
    [
        "infiniband_rx_bytes_per_s",
        "rdma_rx_bytes_per_s",
        "nccl_net_rx_bytes_per_s",
        "loopback_rx_bytes_per_s",
        "node_network_receive_bytes_total device lo",
        "gpu0_rx_throughput_MB/s",
        "http_request_bytes_in_per_s",
        "memory_read_bytes_per_s",
        "cache_read_bytes_per_s",
        "l3_read_bytes_per_s",
        "s3_read_bytes_per_s",
        "redis_bytes_read_per_s",
        "log_write_bytes_per_s",
        "disk_in_use_bytes_per_s",
        "gpu_sm_occupancy_percent",
        "gpu_tensor_active_percent",
        "gpu_allocation_percent",
        "gpu_requested_percent",
        "gpu_percent_of_request",
        "gpu_target_util_percent",
        "gpu_max_util_percent",
        "gpus_usage_percent_sum",
        "gpu_idle_power_w",
        "gpu_usage_gib",
        "network_in_percent",
        "gpu_memory_power_w",
        "gpu_memory_peak_mb",
    ],
)
def test_a_name_with_a_word_that_is_not_known_has_none(name):
    assert guess_other_role(name) is Role.OTHER
