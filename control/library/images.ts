/** Images of this host as a library sees them: what every workspace can make sandboxes from. */
import type { Image, Images } from '../core/images/images.ts'
import { sourceOf } from '../core/images/source.ts'

export interface LibraryImage {
  readonly name: string
  /** In hex. */
  readonly digest: string
  readonly env: Readonly<Record<string, string>>
  readonly workdir: string
  readonly user: string
  readonly command: readonly string[]
  readonly labels: Readonly<Record<string, string>>
}

export interface ImageLibrary {
  list(): Promise<LibraryImage[]>
  /**
   * Brings in an image under `name`: from an archive (`docker save`), a directory with an OCI layout, a reference with its
   * registry, or a source as skopeo has them. A name that exists moves; sandboxes made from the old image keep it. Throws
   * `invalid_argument`, `image_failed`.
   */
  import(name: string, from: string, options?: { readonly signal?: AbortSignal }): Promise<LibraryImage>
  /** Forgets a name that was brought in. Throws `not_found`. */
  remove(name: string): Promise<void>
}

const shown = ({ name, digest, env, workdir, user, command, labels }: Image): LibraryImage => ({
  name,
  digest,
  env,
  workdir,
  user,
  command,
  labels,
})

interface Deps {
  readonly images: Pick<Images, 'list' | 'import' | 'remove'>
  /** Throws once the host is closed. */
  readonly needOpen: () => void
}

export const imageLibrary = ({ images, needOpen }: Deps): ImageLibrary => ({
  async list() {
    needOpen()
    return (await images.list()).map(shown)
  },
  async import(name, from, { signal } = {}) {
    needOpen()
    return shown(await images.import(name, await sourceOf(from, process.cwd()), signal))
  },
  async remove(name) {
    needOpen()
    await images.remove(name)
  },
})
