// With sbt: a copy in project/ gives each module the tasks copyLibraries and copySiblings, with nothing changed in the build.
import sbt._
import sbt.Keys._

object CopyLibraries extends AutoPlugin {
  object autoImport {
    val copyLibraries = taskKey[Unit]("Copies the libraries of run time to target/libraries.")
    val copySiblings = taskKey[Unit]("Copies the jars of other modules to target/siblings.")
  }
  import autoImport._

  override def trigger = allRequirements
  override def projectSettings = Seq(
    copyLibraries := copy((Runtime / managedClasspath).value.files, target.value / "libraries"),
    copySiblings := copy((Runtime / internalDependencyAsJars).value.files, target.value / "siblings")
  )

  private def copy(jars: Seq[File], folder: File): Unit = {
    IO.delete(folder)
    IO.copy(jars.map(jar => jar -> folder / jar.getName))
  }
}
