/** `hutch image`: the images of this machine. */
import { join } from 'node:path'
import { execa } from 'execa'
import { systemClock } from '../../shared/clock.ts'
import { command, installation } from '../../shared/installation.ts'
import { silentLog } from '../../shared/log.ts'
import { loadConfig, type Config } from '../config.ts'
import { prepareDataDir } from '../data-dir.ts'
import { listNames, readName, treePath } from '../images/layout.ts'
import { prepareRuntime } from '../runtime/prepare.ts'
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

/** The exit code: that of the build, or 0. */
export const run = async ({ env, cwd, words, say }: Invocation): Promise<number> => {
  const [verb, ...more] = words
  if (verb === undefined || more.length > 0 || !['list', 'base'].includes(verb))
    throw misuse('image takes one word, list or base; see hutch image --help')
  const config = loadConfig(env, cwd)
  // A checkout has its images in itself.
  if (installation.kind === 'package') {
    await prepareDataDir(config.dataDir, silentLog)
    await prepareRuntime(config, { log: silentLog, clock: systemClock() })
  }
  if (verb === 'base') return build(config)
  await list(config, say)
  return 0
}
