import type { Capture } from './output/capture.ts'
import { launch, type Launch, type Workload } from './spawn.ts'
import { closeEnd, newStdin, type Stdin } from './stdin.ts'

interface CapturedLaunch extends Omit<Launch, 'descriptors'> {
  /** Its standard input is a pipe; else it is /dev/null. */
  readonly pipeStdin: boolean
}

/** Starts a process whose output goes to `capture`. Throws as `launch`, and then nothing is left of it. */
export const launchCaptured = (
  workload: Workload,
  capture: Capture,
  { pipeStdin, ...wanted }: CapturedLaunch,
): { pid: number; stdin: Stdin | undefined } => {
  const { childEnd, stdin } = pipeStdin ? newStdin() : { childEnd: -1, stdin: undefined }
  try {
    const [stdout, stderr] = capture.childDescriptors
    return { pid: launch(workload, { ...wanted, descriptors: [childEnd, stdout, stderr] }), stdin }
  } catch (error) {
    stdin?.end()
    throw error
  } finally {
    if (childEnd >= 0) closeEnd(childEnd)
  }
}
