/**
 * Where the kernel shows itself as files. Nobody who looks through `/` means them: they never end, some cannot be read by
 * anybody, and what is in them is gone before it is read. Who names one of them, or something in it, gets it.
 */
export const kernelFilesystems: ReadonlySet<string> = new Set(['/proc', '/sys'])
