module.exports = (birth, now) => now.getFullYear() - birth.getFullYear();
