/** Kills the server, now and then while it starts, processes of machines and what the server has started, at random moments. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { children, type Hierarchy } from '../../../control/drivers/oci/cgroup/hierarchy.ts'
import { processesIn } from '../../../control/drivers/oci/cgroup/processes.ts'
import type { Random } from '../random.ts'
import { note, type World } from './world.ts'

/** An exponentially distributed time of that mean, ms. */
const wait = (chance: Random, meanMs: number): number => -Math.log(1 - chance.below(1e6) / 1e6) * meanMs

const kill = (pid: number): boolean => {
  try {
    process.kill(pid, 'SIGKILL')
    return true
  } catch {
    // It ended meanwhile.
    return false
  }
}

/** Machines by id with the processes in them. */
export const machinesOn = async (hierarchy: Hierarchy, cgroup: string): Promise<Map<string, number[]>> => {
  const ids = new Set<string>()
  for (const mount of hierarchy.mounts) for (const id of (await children(join(mount, cgroup))) ?? []) ids.add(id)
  const machines = new Map<string, number[]>()
  for (const id of ids) machines.set(id, await processesIn(hierarchy, join(cgroup, id)))
  return machines
}

/** What a process has started, and what that has, without those in machines. */
const descendants = (pid: number, cgroup: string): number[] => {
  let own: number[]
  try {
    own = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).filter(Boolean).map(Number)
    own = own.filter(child => !readFileSync(`/proc/${child}/cgroup`, 'utf8').includes(cgroup))
  } catch {
    // It ended meanwhile.
    return []
  }
  return own.flatMap(child => [child, ...descendants(child, cgroup)])
}

/** Counts what the server has logged since its start: errors, and warnings. */
const noteLog = (world: World): void => {
  for (const [, level, event] of world.s.output().matchAll(/"level":"(warn|error)","event":"([^"]+)"/g))
    note(world, `log: ${level} ${event}`)
}

const killServer = async (world: World, chance: Random): Promise<void> => {
  const { s } = world
  note(world, 'strike: server')
  const up = Promise.withResolvers<void>()
  world.up = up.promise
  const from = Date.now()
  await s.kill()
  noteLog(world)
  // A box that is busy, an operator who looks first.
  await sleep(chance.below(1_500))
  while (!world.over && chance.below(4) === 0) {
    note(world, 'strike: server that starts')
    const started = s.start().then(
      () => true,
      (error: unknown) => {
        // Killed: whatever else ends it is not meant to.
        if (!world.killing) world.odd.push(`a start: ${String(error)}`)
        return false
      },
    )
    await sleep(chance.below(2_500))
    world.killing = true
    await s.kill()
    await started
    world.killing = false
  }
  // The test has failed meanwhile, and its directory is gone.
  if (world.over) return
  await s.start()
  world.down.push({ from, to: Date.now() })
  world.generation++
  up.resolve()
}

const killInMachine = async (world: World, chance: Random, hierarchy: Hierarchy): Promise<void> => {
  const machines = [...(await machinesOn(hierarchy, world.s.names.cgroup))].filter(([, pids]) => pids.length > 0)
  if (machines.length === 0) return
  const [id, pids] = chance.pick(machines)
  note(world, 'strike: machine')
  world.struck.push({ id, at: Date.now() })
  kill(chance.pick(pids))
}

const killHelper = (world: World, chance: Random): void => {
  const pid = world.s.pid()
  const helpers = pid === undefined ? [] : descendants(pid, world.s.names.cgroup)
  if (helpers.length === 0) return
  const helper = chance.pick(helpers)
  let name = ''
  try {
    name = readFileSync(`/proc/${helper}/comm`, 'utf8').trim()
  } catch {
    // It ended meanwhile.
    return
  }
  if (kill(helper)) note(world, `strike: ${name}`)
}

export const strike = async (
  world: World,
  { chance, hierarchy, ms }: { chance: Random; hierarchy: Hierarchy; ms: number },
): Promise<void> => {
  for (const end = performance.now() + ms; performance.now() < end && !world.over; ) {
    await sleep(wait(chance, 2_500))
    const lot = chance.below(100)
    if (lot < 50) await killServer(world, chance)
    else if (lot < 75) await killInMachine(world, chance, hierarchy)
    else killHelper(world, chance)
  }
}
