import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { generousMs, keptDirs } from '../../support/processes.ts'

const program = new URL('../../programs/handover.ts', import.meta.url).pathname

t.test('over an exec of the daemon a process keeps its input, its output and its exit code', async t => {
  const { root } = keptDirs(t)
  const { stdout } = await promisify(execFile)(process.execPath, [program, root], { timeout: generousMs })
  t.same(JSON.parse(stdout), [
    { name: 'cat', status: 'failed', exitCode: 7, stdout: 'before\nafter\n' },
    { name: 'ended', status: 'failed', exitCode: 9, stdout: 'meanwhile\n' },
  ])
})
