/** `hutch image`: the images of this machine. */
import { join } from 'node:path'
import { execa } from 'execa'
import { systemClock } from '../../shared/clock.ts'
import { command, installation } from '../../shared/installation.ts'
import { randomIds } from '../../shared/ids.ts'
import { jsonLog, silentLog } from '../../shared/log.ts'
import { loadConfig, type Config } from '../base/config.ts'
import { prepareDataDir } from '../base/data-dir.ts'
import { importShared } from '../core/images/import-shared.ts'
import { listNames, readName, treePath } from '../core/images/layout.ts'
import { sourceOf } from '../core/images/source.ts'
import { readableLine } from '../base/readable-log.ts'
import { prepareRuntime } from '../core/runtime/prepare.ts'
import { misuse, type Invocation } from './command.ts'
import { needRoot } from './root.ts'

/** Name and root file system of every image that was built here, a line each. */
const list = async ({ imagesDir }: Config, say: Invocation['say']): Promise<void> => {
  for (const name of await listNames(imagesDir)) {
    const digest = await readName(imagesDir, name)
    if (digest) say(`${name}\t${treePath(imagesDir, digest)}/rootfs`)
  }
}

const build = async ({ imagesDir }: Config): Promise<number> => {
  needRoot('an image keeps the owners of its files', command('image base'))
  const script = join(installation.root, 'images/base/build.sh')
  const { exitCode = 1 } = await execa('bash', [script], {
    env: { IMAGES_DIR: imagesDir },
    stdio: 'inherit',
    reject: false,
  })
  return exitCode
}

const bringIn = async (config: Config, { words, cwd, say }: Invocation): Promise<number> => {
  needRoot('an image keeps the owners of its files', command('image import NAME FROM'))
  const [, name = '', from = ''] = words
  const clock = systemClock()
  const log = jsonLog({
    level: 'info',
    now: clock.now,
    write: line => void process.stderr.write(readableLine(line, { colour: false })),
  })
  const digest = await importShared(config, [name, await sourceOf(from, cwd)], { ids: randomIds(), log, clock })
  say(`${name} is sha256:${digest}; sandboxes can be made of it at once`)
  return 0
}

/** How many words follow each. */
const verbs: Readonly<Record<string, number>> = { list: 0, base: 0, import: 2 }

/** The exit code: that of the build, or 0. */
export const run = async (invocation: Invocation): Promise<number> => {
  const { env, cwd, words, say } = invocation
  const [verb, ...more] = words
  if (verb === undefined || !Object.hasOwn(verbs, verb) || more.length !== verbs[verb])
    throw misuse('image takes list, base, or import NAME FROM; see hutch image --help')
  const config = loadConfig(env, cwd)
  // A checkout has its images in itself.
  if (installation.kind === 'package') {
    await prepareDataDir(config.dataDir, silentLog)
    await prepareRuntime(config, { log: silentLog, clock: systemClock() })
  }
  if (verb === 'base') return build(config)
  if (verb === 'import') return bringIn(config, invocation)
  await list(config, say)
  return 0
}
