/** A host process that was killed, and what it has left on the box. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { openHierarchy } from '../../control/drivers/oci/cgroup/hierarchy.ts'
import { namesOf, tagOf } from '../../control/drivers/oci/names.ts'
import { sweepInstance } from '../../control/drivers/oci/sweep.ts'
import { systemClock } from '../../shared/clock.ts'
import type { Kit } from './oci.ts'

const clock = systemClock()

/** A data directory for a host that will be killed, and what is gone of it at the end of the test. */
const mortalHost = (t: Test, kit: Kit) => {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'hutch-killed-')))
  const dataDir = join(dir, 'data')
  mkdirSync(dataDir)
  const names = namesOf(tagOf(dataDir))
  t.teardown(async () => {
    await sweepInstance(await openHierarchy(), names, clock)
    rmSync(dir, { recursive: true, force: true })
  })
  const config = { dataDir, driver: 'oci', runtime: 'runc', subnet: '10.89.0.0/16', bundleDir: kit.bundleDir }
  const { rootfs } = kit
  const spec = (id: string) => ({ id, rootfs, memoryMb: 256, cpus: 1, hostname: 'box', env: {}, workdir: '/' })
  return { dir, dataDir, names, config, spec }
}

const begin = (t: Test, name: string, args: readonly string[]) => {
  const program = fileURLToPath(new URL(`../programs/${name}`, import.meta.url))
  const child = spawn(process.execPath, [program, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  return { child, gone: once(child, 'exit') }
}

/** A host in a process of its own, killed when it has printed `until`; its data directory and names. */
export const killedHost = async (t: Test, kit: Kit, ids: readonly string[], until: string, afterMs = 0) => {
  const host = mortalHost(t, kit)
  const { child, gone } = begin(t, 'oci-host.ts', [JSON.stringify(host.config), JSON.stringify(ids.map(host.spec))])
  for await (const line of createInterface(child.stdout)) if (line === until) break
  await clock.sleep(afterMs)
  child.kill('SIGKILL')
  await gone
  return host
}

/** A host that has made machine `a` for nobody and was killed while it was claimed (`programs/oci-claim.ts`). */
export const killedClaim = async (t: Test, kit: Kit, kind: string, moment: string) => {
  const host = mortalHost(t, kit)
  const spec = { ...host.spec('a'), storageMb: 32 }
  const { gone } = begin(t, 'oci-claim.ts', [JSON.stringify(host.config), JSON.stringify(spec), kind, moment])
  return { ...host, spec, ended: await gone }
}
