/** Probe of what a sandbox sees of itself: a container with a limit reads it in `/proc/meminfo`, by the way that sandboxes do. */
import { join } from 'node:path'
import { rebuild } from '../../../../shared/installation.ts'
import { silentLog } from '../../../../shared/log.ts'
import { namesOf } from '../names.ts'
import { removePlace } from '../view/place.ts'
import { openViews } from '../view/views.ts'
import type { Check } from './check.ts'
import { shared, tryContainer, type Running } from './container.ts'

/** What containers of trials may have, kB. */
const limitKb = 256 * 1024
const mostLooks = 100

/** Ends well when it sees its limit, and otherwise tells what it sees. */
const commandOf = (
  looks: number,
) => `i=0; while read -r name size unit < /proc/meminfo && [ "$size" != ${limitKb} ]; do \
i=$((i + 1)); [ $i -lt ${looks} ] || { echo "it sees $size kB of memory, and has ${limitKb}"; exit 1; }; sleep 0.05; done`

/** Shows it its own; throws what `view.missing` says in the log of a server. */
const showIt = async ({ hierarchy, group, name, dir }: Running, { clock }: Parameters<Check['run']>[0]) => {
  const names = { ...namesOf(group), cgroup: group, runDir: join(dir, 'run') }
  const reasons: string[] = []
  const log = {
    ...silentLog,
    warn: (_event: string, fields?: object) => void reasons.push((fields as { reason?: string }).reason ?? ''),
  }
  const views = await openViews({ hierarchy, names }, { log, clock })
  try {
    await views.show(name)
    if (reasons[0] !== undefined) throw new Error(reasons[0])
  } finally {
    await views.close()
    await removePlace(names)
  }
}

/** Not for runsc, whose kernel tells each sandbox its own. `show` shows it its own, and it looks so often whether that is so. */
export const ownView = (runtime: string, show = showIt, looks = mostLooks): Check => ({
  required: false,
  title: 'sandboxes see their own limits (/proc/meminfo, cpuinfo, stat, loadavg, swaps)',
  next: `${rebuild}; it needs tmpfs, and open_tree and move_mount (Linux 5.2); until then a sandbox sees the sizes and the load of the box there`,
  run: async context => {
    const meanwhile = (running: Running) => show(running, context)
    await tryContainer({ ...shared, runtime, command: commandOf(looks), meanwhile }, context)
    return ''
  },
})
