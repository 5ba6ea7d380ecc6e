/** A supervisor that replaces itself by exec in the middle of its work, and prints what the second one finds. */
import { fstatSync } from 'node:fs'
import { join } from 'node:path'
import { createEnvironment } from '../../daemon/environment.ts'
import { createReaper } from '../../daemon/init/reaper.ts'
import { keepOverExec } from '../../daemon/native/descriptors/descriptors.ts'
import { tailText } from '../../daemon/process/output/tail.ts'
import { createSupervisor } from '../../daemon/process/supervisor.ts'
import { systemClock } from '../../shared/clock.ts'
import { randomIds } from '../../shared/ids.ts'
import { silentLog as log } from '../../shared/log.ts'

const [, self = '', dir = ''] = process.argv
const inherited = process.env['PIPES']
const clock = systemClock()
const { signal } = new AbortController()
const awake = setInterval(() => {}, 1_000)
const supervisor = createSupervisor(
  {
    logDir: join(dir, 'logs'),
    stateDir: join(dir, 'state'),
    cwd: dir,
    maxFileBytes: 0,
    maxTotalBytes: 0,
    responseBytes: 1_000,
    tailBytes: 1_000,
    keepAlive: true,
    keepFinished: 10,
    rehearsal: false,
  },
  {
    clock,
    ids: randomIds(),
    log,
    reaper: createReaper({ clock, log }),
    workload: {
      environment: createEnvironment({ PATH: '/usr/bin:/bin' }, {}),
      identity: () => undefined,
      dropCapabilities: undefined,
    },
    keepAwake: { hold: () => () => {} },
    pipes: inherited === undefined ? [] : JSON.parse(inherited),
  },
)

const request = (command: string, name: string) => ({ command, name, stdin: true })

if (inherited === undefined) {
  await supervisor.start(request('cat; exit 7', 'cat')).stdin?.write(Buffer.from('before\n'), signal)
  supervisor.start(request('read line; echo "$line"; exit 9', 'ended'))
  await supervisor.find('ended').stdin?.write(Buffer.from('meanwhile\n'), signal)
  const pipes = supervisor.pipes().map(({ id, fd }) => {
    keepOverExec(fd, true)
    return { id, fd, inode: fstatSync(fd).ino }
  })
  process.execve?.(process.execPath, [process.execPath, self, dir], { ...process.env, PIPES: JSON.stringify(pipes) })
}

const cat = supervisor.find('cat')
await cat.stdin?.write(Buffer.from('after\n'), signal)
cat.stdin?.end()
await Promise.all([cat.finished, supervisor.find('ended').finished])
clearInterval(awake)
const found = supervisor.list().map(({ record, capture }) => ({
  name: record.name,
  status: record.status,
  exitCode: record.exitCode,
  stdout: tailText(capture, 0, 1_000),
}))
process.stdout.write(JSON.stringify(found))
process.exit(0)
