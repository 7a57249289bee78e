/* Raises a counter: the least that shows a launch to have happened. Launched as one group. */
KERNEL(launch_count, GLOBAL u32 *counter)
{
    if (LANE == 0)
        counter[0] += 1;
}
