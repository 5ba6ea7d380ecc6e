/** What `make setup` compiles of this folder. */
import { join } from 'node:path'
import { nativeAddon } from '../../../base/native-addon.ts'

interface Addon {
  show(
    mounts: number,
    directory: string,
    files: readonly string[],
  ): Promise<readonly [step: string, errno: number] | undefined>
}

const built = (name: string): string => join(import.meta.dirname, 'build', name)

export const program = (name: 'keep-views'): string => built(name)

export const addon = nativeAddon<Addon>(built('mount-views.node'))
