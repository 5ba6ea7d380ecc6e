/** Where an installed package has its runtime files, and when they are put there. */
import { join } from 'node:path'
import { installation, type Installation } from '../../../shared/installation.ts'
import { runtimeDirOf, type Config } from '../../base/config.ts'
import { isThere } from '../../../shared/is-there.ts'
import { unpackRuntime, type UnpackDeps } from './unpack.ts'

type Places = Pick<Config, 'dataDir' | 'bundleDir' | 'imagesDir'>

/** Where an installed package unpacks its archive; undefined for a checkout, and when both were put elsewhere. */
const unpackDir = ({ dataDir, bundleDir, imagesDir }: Places, { kind, root }: Installation): string | undefined => {
  const dir = runtimeDirOf({ kind, root }, dataDir)
  const isUsed = bundleDir === join(dir, 'bundle') || imagesDir === join(dir, 'images')
  return kind === 'package' && isUsed ? dir : undefined
}

/** Sees to it that the runtime files are in the data directory, which is there. A checkout has built its own. */
export const prepareRuntime = async (places: Places, deps: UnpackDeps, from = installation): Promise<void> => {
  const dir = unpackDir(places, from)
  if (dir !== undefined) await unpackRuntime(join(from.root, 'dist'), dir, deps)
}

/** Whether the bundle is not there yet and `prepareRuntime` will put it there. */
export const unpacksLater = async (places: Places, from = installation): Promise<boolean> =>
  unpackDir(places, from) !== undefined &&
  !(await isThere(join(places.bundleDir, 'bundle.json'))) &&
  isThere(join(from.root, 'dist/runtime.tar.zst'))
