/**
 * File systems of the kernel itself. A search or an archive of `/` leaves them out: they have no end, parts cannot be read by
 * anybody, and entries vanish before they are read. One that starts in one of them looks into it.
 */
export const kernelFilesystems: ReadonlySet<string> = new Set(['/proc', '/sys'])

/** Whether a path, links resolved, is one of them or in one. */
export const isOfKernel = (path: string): boolean =>
  [...kernelFilesystems].some(root => path === root || path.startsWith(`${root}/`))
