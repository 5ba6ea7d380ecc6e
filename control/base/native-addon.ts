/** C addons of the host, loaded when they are first used. */

/** Answers the addon at `path`. What it returns throws with `ERR_DLOPEN_FAILED` when it was not built (images/setup/native.sh). */
export const nativeAddon = <Addon>(path: string): (() => Addon) => {
  let loaded: Addon | undefined
  return () => {
    if (loaded) return loaded
    const module = { exports: {} }
    process.dlopen(module, path)
    loaded = module.exports as Addon
    return loaded
  }
}
