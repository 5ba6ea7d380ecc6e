/** runc by itself: the floor of what starting a container on this box costs. */
import { execFile } from 'node:child_process'
import { readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { find, scratch } from './child.ts'
import type { Bench } from './measure.ts'

const run = promisify(execFile)

/** `runc run` of `true` in a container of runc's own defaults over `rootfs`, read-only; resolves when it has ended. */
export const bareRunc = async (bench: Bench, rootfs: string): Promise<() => Promise<void>> => {
  const binary = find('runc') ?? 'runc'
  const bundle = scratch(bench, 'runc')
  await run(binary, ['spec', '--bundle', bundle])
  const path = join(bundle, 'config.json')
  const config = JSON.parse(readFileSync(path, 'utf8'))
  config.process.terminal = false
  config.process.args = ['/bin/true']
  config.root = { path: realpathSync(rootfs), readonly: true }
  writeFileSync(path, JSON.stringify(config))
  let count = 0
  return async () => {
    const id = `hutch-bench-${process.pid}-${++count}`
    await run(binary, ['--root', join(bundle, 'state'), 'run', '--bundle', bundle, id])
  }
}
