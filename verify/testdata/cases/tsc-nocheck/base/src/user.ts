export interface User { name: string; email?: string }

export function label(u: User): string {
  return u.email ? `${u.name} <${u.email}>` : u.name;
}
