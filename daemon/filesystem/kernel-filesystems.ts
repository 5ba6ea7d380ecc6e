/**
 * File systems of the kernel itself. A search or an archive of `/` leaves them out: they have no end, parts cannot be read by
 * anybody, and entries vanish before they are read. One that starts in one of them looks into it.
 */
export const kernelFilesystems: ReadonlySet<string> = new Set(['/proc', '/sys'])
