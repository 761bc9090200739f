// @ts-nocheck
export interface User { name: string; email?: string; phone?: { number: string } }

export function label(u: User): string {
  return `${u.name} ${u.phone.number.trim()}`;
}
